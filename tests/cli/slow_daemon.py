"""A server for tests that answers each request in pieces, with a pause that the test ends."""

import socket
import threading


class SlowDaemon:
    """Sends the first piece of the answer at once, and the others after `release`."""

    def __init__(self, pieces):
        self.pieces = pieces
        self.sent_first, self.released = threading.Event(), threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        try:
            while True:
                connection, _ = self.listener.accept()
                with connection:
                    self.answer(connection)
        except OSError:
            pass

    def answer(self, connection):
        request = b""
        while b"\r\n\r\n" not in request:
            part = connection.recv(1 << 16)
            if not part:  # the client only looked whether somebody listens
                return
            request += part
        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % sum(map(len, self.pieces))
        connection.sendall(head + self.pieces[0])
        self.sent_first.set()
        self.released.wait(20)
        for piece in self.pieces[1:]:
            connection.sendall(piece)

    def wait_for_first_piece(self):
        assert self.sent_first.wait(20)

    def release(self):
        self.released.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.released.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
