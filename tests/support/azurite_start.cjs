// Loaded before Azurite. Arrow sends `Expect: 100-continue` with every PUT. If the response "100 Continue" and an error
// (Arrow gives up the lease of a blob that it has deleted) arrive at once, Arrow's client takes the connection for broken,
// and waits seven seconds and more before it tries again. A request without a body needs no "100 Continue".
const { Server } = require("http");

const listen = Server.prototype.listen;
Server.prototype.listen = function (...where) {
  this.on("checkContinue", (request, response) => {
    if (request.headers["content-length"] !== "0") response.writeContinue();
    this.emit("request", request, response);
  });
  return listen.apply(this, where);
};
