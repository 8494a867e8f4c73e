"""Softmax regression on handwritten digits, by gradient descent on one node or many. Node 0 reports."""
import array, math, os, socket, struct, time

from report import report

rank, nodes = int(os.environ.get("PET_NODE_RANK", "0")), int(os.environ.get("PET_NNODES", "1"))
epochs = int(os.environ.get("EPOCHS", "30"))
# A trial of an OptimizationJob has the value of its parameter in the first of these.
rate = float(os.environ.get("KUBEFLOW_TRAINER_OPT_LEARNING_RATE") or os.environ.get("LEARNING_RATE", "0.5"))
report_epochs = int(os.environ.get("REPORT_EPOCHS", "1"))
train_seconds = float(os.environ.get("TRAIN_SECONDS", "0"))
CLASSES, INPUTS = 10, 65

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.txt")) as file:
    rows = [[int(figure, 17) for figure in line.strip()] for line in file]
mine = [(row[64], [value / 16 for value in row[:64]] + [1.0]) for row in rows[rank::nodes]]


def gradient(weights):
    """The gradient over this node's images; behind it the loss, the right answers and the images, summed."""
    total = [[0.0] * INPUTS for _ in range(CLASSES)]
    loss = right = 0.0
    rows = [weights[c * INPUTS:(c + 1) * INPUTS] for c in range(CLASSES)]
    for label, pixels in mine:
        scores = [sum(map(float.__mul__, row, pixels)) for row in rows]
        top = max(scores)
        powers = [math.exp(score - top) for score in scores]
        whole = sum(powers)
        for c in range(CLASSES):
            error = powers[c] / whole - (c == label)
            total[c] = [t + error * x for t, x in zip(total[c], pixels)]
        loss -= math.log(powers[label] / whole)
        right += scores.index(top) == label
    return [value for row in total for value in row] + [loss, right, float(len(mine))]


def receive(peer, length):
    data = b""
    while len(data) < 8 * length:
        part = peer.recv(8 * length - len(data))
        if not part:
            raise ConnectionError("a node went away")
        data += part
    return list(struct.unpack(f"<{length}d", data))


def send(peer, vector):
    peer.sendall(array.array("d", vector).tobytes())


def join():
    for _ in range(300):
        try:
            return socket.create_connection(address)
        except OSError:
            time.sleep(0.1)
    return socket.create_connection(address)


address = (os.environ.get("PET_MASTER_ADDR", "127.0.0.1"), int(os.environ.get("PET_MASTER_PORT", "29500")))
weights = [0.0] * (CLASSES * INPUTS)
if rank == 0:
    listener = socket.create_server(address) if nodes > 1 else None
    peers = [listener.accept()[0] for _ in range(nodes - 1)]
    began = time.monotonic()
    for epoch in range(1, epochs + 1):
        for peer in peers:
            send(peer, weights)
        sums = [gradient(weights)] + [receive(peer, len(weights) + 3) for peer in peers]
        total = [sum(values) for values in zip(*sums)]
        loss, right, images = total[-3:]
        weights = [w - rate * g / images for w, g in zip(weights, total)]
        time.sleep(max(0, began + train_seconds * epoch / epochs - time.monotonic()))
        if epoch % 10 == 0:
            print(f"epoch {epoch} of {epochs} loss {loss / images:.4f} accuracy {right / images:.4f}", flush=True)
        if epoch % report_epochs and epoch < epochs:
            continue
        left = (time.monotonic() - began) * (epochs / epoch - 1)
        report(100 * epoch / epochs, left, epoch, loss=loss / images, accuracy=right / images)
else:
    peer = join()
    for epoch in range(epochs):
        send(peer, gradient(receive(peer, len(weights))))
    print(f"node {rank} worked through {len(mine)} images {epochs} times")
