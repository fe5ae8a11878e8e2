// Runs inside the sandbox: passes connections to a local port on to the unix socket of the proxy.
import { connect, createServer } from 'node:net'

const [port, socketPath = ''] = process.argv.slice(2)
const backlog = 64

createServer({ allowHalfOpen: true }, (client) => {
  const proxy = connect({ path: socketPath, allowHalfOpen: true })
  const end = () => {
    client.destroy()
    proxy.destroy()
  }
  client.on('error', end)
  proxy.on('error', end)
  client.pipe(proxy)
  proxy.pipe(client)
}).listen(Number(port), '127.0.0.1', backlog)
