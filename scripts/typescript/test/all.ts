// All tests, in one process: `npm test`.

import "./calls.test.js";
import "./check.test.js";
import "./killed.test.js";
import "./requests.test.js";
import "./results.test.js";
import "./serve.test.js";
import "./submit.test.js";
import "./wait.test.js";
import "./webhook.test.js";
