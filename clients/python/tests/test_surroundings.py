"""Tests of what a container's variables say."""

import json
import unittest

from milepost.surroundings import place_of, rank_of

URL = "https://status:8082/the/path/status"


def tensorflow(kind: str, index: int, *others: str) -> dict[str, str]:
    cluster = {name: ["host:1"] for name in (kind, *others)}
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})}


class RankTest(unittest.TestCase):
    def test_the_number_of_the_process(self) -> None:
        cases: list[tuple[dict[str, str], int]] = [
            ({}, 0),
            ({"JOB_COMPLETION_INDEX": "2"}, 2),
            ({"RANK": "0", "JOB_COMPLETION_INDEX": "0"}, 0),
            ({"RANK": "5", "PET_NODE_RANK": "0", "JOB_COMPLETION_INDEX": "0"}, 5),
            ({"OMPI_COMM_WORLD_RANK": "3"}, 3),
            ({"JAX_PROCESS_ID": "1"}, 1),
            ({"PROCESS_ID": "4711"}, 0),
            ({"PROCESS_ID": "1", "COORDINATOR_ADDRESS": "job-worker-0"}, 1),
            ({"RANK": "none", "JOB_COMPLETION_INDEX": "4"}, 4),
            ({"JOB_COMPLETION_INDEX": "2", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "4"}, 11),
            ({"JOB_COMPLETION_INDEX": "0", "LOCAL_RANK": "1"}, 1),
            (tensorflow("chief", 0, "worker"), 0),
            (tensorflow("worker", 0, "chief"), 1),
            (tensorflow("worker", 0, "ps"), 0),
            (tensorflow("ps", 0, "worker"), 1),
            ({"TF_CONFIG": "{"}, 0),
        ]
        for environ, want in cases:
            with self.subTest(environ=environ):
                self.assertEqual(rank_of(environ), want)


class PlaceTest(unittest.TestCase):
    def test_both_families_of_variables(self) -> None:
        for family in ("STATUS", "SERVER"):
            name = f"KUBEFLOW_TRAINER_{family}"
            place = place_of({f"{name}_URL": f"{URL}/", f"{name}_CA_CERT": "ca", f"{name}_TOKEN": "token"})
            assert place is not None
            self.assertEqual((place.url, place.ca_file, place.token_file), (URL, "ca", "token"))

    def test_outside_of_a_job_there_is_none(self) -> None:
        self.assertIsNone(place_of({}))
        self.assertIsNone(place_of({"KUBEFLOW_TRAINER_STATUS_URL": ""}))


if __name__ == "__main__":
    unittest.main()
