// The address of a service: a process on a machine of its own, which forwards connections to the server that has the
// service now. It delays and resets them as the lab says.
import { connect, createServer, type Socket } from 'node:net'

export interface ServiceState {
  target: { host: string; port: number }
  /** Delay of each direction. */
  delayMs: number
}

/** What the lab tells the process. */
export type ServiceMessage = { state: ServiceState } | { resetClientsOf: string }

interface Connection {
  client: Socket
  server: Socket
}

const [host = '', port = '', target = ''] = process.argv.slice(2)
let state: ServiceState = { target: JSON.parse(target), delayMs: 0 }
const connections = new Set<Connection>()

function end({ client, server }: Connection): void {
  client.resetAndDestroy()
  server.resetAndDestroy()
}

/** Runs each step after the delay that applies now, and never before an earlier step. */
function createDelay(): (step: () => void) => void {
  const steps: { at: number; run: () => void }[] = []
  const runDue = () => {
    for (let next = steps[0]; next; next = steps[0]) {
      const waitMs = next.at - performance.now()
      if (waitMs > 0) return void setTimeout(runDue, waitMs)
      steps.shift()
      next.run()
    }
  }
  return (run) => {
    steps.push({ at: performance.now() + state.delayMs, run })
    if (steps.length === 1) runDue()
  }
}

function forward(from: Socket, to: Socket): void {
  const later = createDelay()
  from.on('data', (chunk) => later(() => void to.write(chunk)))
  from.on('end', () => later(() => void to.end()))
}

const listener = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
  const server = connect({ ...state.target, noDelay: true, allowHalfOpen: true })
  const connection = { client, server }
  connections.add(connection)
  forward(client, server)
  forward(server, client)
  for (const socket of [client, server]) {
    socket.on('error', () => end(connection))
    socket.on('close', () => connections.delete(connection))
  }
})
listener.listen(Number(port), host, () => process.send?.('listening'))

process.on('message', (message: ServiceMessage) => {
  if ('resetClientsOf' in message) {
    for (const connection of connections)
      if (connection.client.remoteAddress === message.resetClientsOf) end(connection)
    return
  }
  const isMoved = message.state.target.host !== state.target.host
  state = message.state
  // Whoever moves an address makes sure that the former server has no clients.
  if (isMoved) for (const connection of connections) end(connection)
})
