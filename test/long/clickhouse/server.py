"""The engine of ClickHouse behind its HTTP interface, as far as Headgate uses it: the query and the settings in the
URL, the data in the body, the user in headers. Listens on a free loopback port, which it prints. The data is in a
folder that it is started with, or in one that ends with it."""
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, urlsplit

from chdb.session import Session

user, password = sys.argv[1:3]
data_folder = sys.argv[3] if len(sys.argv) > 3 else None

# Parameters of the HTTP interface that are not settings.
interface_parameters = {"query", "wait_end_of_query"}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        parameters = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        if (self.headers["x-clickhouse-user"], self.headers["x-clickhouse-key"]) != (user, password):
            self.reply(403, b"Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)")
            return
        settings = {name: value for name, value in parameters.items() if name not in interface_parameters}
        try:
            self.reply(200, self.execute(parameters.get("query", ""), settings, body))
        except Exception as error:
            self.reply(404 if "UNKNOWN_" in str(error) else 400, str(error).encode())

    def execute(self, query, settings, body):
        session.query(f"USE `{self.headers['x-clickhouse-database']}`")
        for name, value in settings.items():
            session.query(f"SET {name} = '{value}'")
        try:
            # As the server does: the body continues the query.
            text = (query.encode() + b"\n" + body if query else body).decode()
            return bytes(session.query(text, "JSONEachRow").bytes())
        finally:
            for name in settings:
                session.query(f"SET {name} = DEFAULT")

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


with tempfile.TemporaryDirectory() as folder:
    session = Session(data_folder or folder)
    server = HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
