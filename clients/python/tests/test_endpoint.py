"""Tests of the endpoint over HTTPS: deadlines, connections, and files that are renewed."""

import ssl
import tempfile
import time
import unittest
from pathlib import Path

from milepost.endpoint import HttpsEndpoint, _seconds
from tests.tls_server import TlsServer, make_authority

SAMPLE = b'{"trainerStatus":{"step":1}}'


class EndpointTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.server = TlsServer(Path(folder.name))
        self.addCleanup(self.server.stop)
        self.endpoint = HttpsEndpoint(self.server.place, deadline_s=5)
        self.addCleanup(self.endpoint.close)

    def test_one_connection_for_all(self) -> None:
        for _ in range(5):
            self.assertEqual(self.endpoint.post("", SAMPLE).status, 200)
        self.assertEqual(self.server.connections, 1)

    def test_a_connection_that_was_closed_is_opened_again(self) -> None:
        self.endpoint.post("", SAMPLE)
        connection = self.endpoint._connection
        assert connection is not None and connection.sock is not None
        connection.sock.shutdown(2)
        self.assertEqual(self.endpoint.post("", SAMPLE).status, 200)
        self.assertEqual(self.server.connections, 2)

    def test_an_answer_in_drops_ends_with_the_deadline(self) -> None:
        self.server.drips = True
        endpoint = HttpsEndpoint(self.server.place, deadline_s=0.5)
        began = time.monotonic()
        with self.assertRaises(TimeoutError):
            # The answer promises two bytes and is never whole.
            self.server.control = {"long": "x" * 1000}
            endpoint.post("", SAMPLE)
        self.assertLess(time.monotonic() - began, 4)

    def test_the_token_is_read_again(self) -> None:
        self.assertEqual(self.endpoint.post("", SAMPLE).status, 200)
        self.server.token = "token.number.2"
        self.assertEqual(self.endpoint.post("", SAMPLE).status, 401)
        self.server.replace(self.server.token_file, b"token.number.2\n")
        self.assertEqual(self.endpoint.post("", SAMPLE).status, 200)

    def test_the_authority_is_read_again_and_the_old_one_no_longer_trusted(self) -> None:
        self.endpoint.post("", SAMPLE)
        second = make_authority(self.server.folder, "second")
        self.server.replace(self.server.ca_file, second.read_bytes())
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.endpoint.post("", SAMPLE)
        self.server.serve_as("second")
        self.assertEqual(self.endpoint.post("", SAMPLE).status, 200)

    def test_whole_seconds_of_retry_after_are_heeded(self) -> None:
        cases = {"20": 20.0, "7": 7.0, "0": 0.0, "": 0.0, "-1": 0.0, "1.5": 0.0, "9" * 30: 0.0, "²": 0.0,
                 "Wed, 21 Oct 2026 07:28:00 GMT": 0.0}  # fmt: skip
        for text, want in cases.items():
            with self.subTest(text=text):
                self.assertEqual(_seconds(text), want)
        self.assertEqual(_seconds(None), 0.0)
        self.server.retry_after = "20"
        self.assertEqual(self.endpoint.post("", SAMPLE).retry_after, 20.0)

    def test_a_token_is_in_no_error(self) -> None:
        for text in (b"", b"secret\nsecret", b"\xff\xfe", b"secret token"):
            with self.subTest(text=text):
                self.server.replace(self.server.token_file, text)
                with self.assertRaises(ValueError) as caught:
                    self.endpoint.post("", SAMPLE)
                self.assertNotIn("secret", str(caught.exception))

    def test_nothing_goes_without_tls(self) -> None:
        place = self.server.place
        with self.assertRaises(ValueError):
            HttpsEndpoint(type(place)("http://status/path", place.ca_file, place.token_file, ""))


if __name__ == "__main__":
    unittest.main()
