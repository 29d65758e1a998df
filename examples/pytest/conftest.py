"""A fixture that gives tests a server with the API of Kubernetes."""

import json
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request

import pytest


class Kube:
    """A server, which ends when the tests end, also when they are killed: it watches its standard input."""

    def __init__(self):
        program = shutil.which("binnacle") or "node_modules/.bin/binnacle"
        command = [program, "test-server"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline()
        if line == "":
            raise RuntimeError("the server did not start; its reason is above")
        facts = json.loads(line)
        self.url, self.token, self._control = facts["url"], facts["token"], facts["control"]
        self.kubeconfig_file = facts["kubeconfigFile"]
        self._tls = ssl.create_default_context(cadata=facts["ca"])

    def call(self, method, path, body=None):
        """Sends a request as the administrator; returns the code and the answer."""
        return self._send(method, self.url + path, body)

    def reset(self):
        """Goes back to the state after the start."""
        self._send("POST", self._control + "reset", {})

    def fail_next(self, match, fault):
        """Has the next request that matches fail: fail_next({"verb": "create"}, {"answer": 500})."""
        code, answer = self._send("POST", self._control + "faults", {"match": match, "fault": fault})
        assert code < 300, answer

    def close(self):
        self._process.stdin.close()
        self._process.wait()

    def _send(self, method, url, body):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"}
        request = urllib.request.Request(url, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, context=self._tls) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())


@pytest.fixture(scope="session")
def kube_server():
    server = Kube()
    yield server
    server.close()


@pytest.fixture
def kube(kube_server):
    kube_server.reset()
    return kube_server
