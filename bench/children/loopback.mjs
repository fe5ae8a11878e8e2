// Preloaded into a peer that can only listen on all interfaces, to restrict it to loopback.
import { Server } from 'node:net'

const listen = Server.prototype.listen
Server.prototype.listen = function (port, ...rest) {
  const callback = rest.find((argument) => typeof argument === 'function')
  return listen.call(this, { port: Number(port), host: '127.0.0.1' }, callback)
}
