import http.server,sys
class H(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        b=self.rfile.read(int(self.headers['Content-Length']))
        print(dict(self.headers), b.decode(), flush=True)
        self.send_response(204); self.end_headers()
http.server.HTTPServer(('127.0.0.1',9999),H).serve_forever()
