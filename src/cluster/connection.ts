import { createClient, createCluster } from '@redis/client'
import type { RedisConfig, RedisHost } from '../config/redis.ts'

/** Milliseconds to connect, and for a server to answer the first command. */
const connectMs = 1000
/** Commands that wait for a reply on one connection. */
const maxQueued = 2000

/** A connection that is replaced, never repaired, when it fails. */
export interface Connection {
  /** `key` decides which node of a Cluster runs the command. */
  send(key: string, command: string[]): Promise<unknown>
  publish(channel: string, message: string): Promise<unknown>
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  /** Commands without a reply are rejected. */
  close(): void
}

/** Connects; `onEnd` is called once when the connection is lost. */
export async function openConnection(config: RedisConfig, onEnd: () => void): Promise<Connection> {
  if (config.mode === 'cluster') return openCluster(config)
  const host = config.mode === 'sentinel' ? await findPrimary(config) : config.hosts[0]
  if (!host) throw new Error('no address of the server is known')
  return openClient(config, host, onEnd)
}

async function openClient(config: RedisConfig, host: RedisHost, onEnd: () => void): Promise<Connection> {
  const client = createClient({
    ...authOf(config.username, config.password),
    ...optionsOf(config, host),
    database: config.database,
  })
  // Without a listener, an error would end the process. Every error ends this connection.
  client.on('error', onEnd).on('terminated', onEnd).on('end', onEnd)
  await connect(client)
  return {
    send: (_key, command) => client.sendCommand(command),
    publish: (channel, message) => client.publish(channel, message),
    subscribe: (channel, listener) => client.subscribe(channel, listener),
    close: () => {
      if (client.isOpen) client.destroy()
    },
  }
}

/** The library follows the slots; a node that fails is noticed by the commands that need it. */
async function openCluster(config: RedisConfig): Promise<Connection> {
  const cluster = createCluster({
    rootNodes: config.hosts.map((host) => optionsOf(config, host)),
    defaults: { ...authOf(config.username, config.password), ...optionsOf(config) },
  })
  const ignore = () => undefined
  cluster.on('error', ignore)
  await connect(cluster)
  return {
    send: (key, command) => cluster.sendCommand(key, false, command),
    publish: (channel, message) => cluster.publish(channel, message),
    subscribe: (channel, listener) => cluster.subscribe(channel, listener),
    close: () => {
      if (cluster.isOpen) cluster.destroy()
    },
  }
}

/** The address of the primary, from the first Sentinel that knows it. */
async function findPrimary(config: RedisConfig): Promise<RedisHost> {
  let cause: unknown
  for (const host of config.hosts) {
    try {
      return await readPrimary(config, host)
    } catch (error) {
      cause = error
    }
  }
  throw new Error('no Sentinel knows the address of the primary', { cause })
}

async function readPrimary(config: RedisConfig, host: RedisHost): Promise<RedisHost> {
  const sentinel = createClient({ ...authOf(null, config.sentinelPassword), ...optionsOf(config, host) })
  sentinel.on('error', () => undefined)
  try {
    await connect(sentinel)
    const command = ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', config.primary ?? '']
    const address: unknown = await withTimeout(sentinel.sendCommand(command))
    if (Array.isArray(address)) return { host: String(address[0]), port: Number(address[1]) }
    throw new Error('the Sentinel does not know the primary')
  } finally {
    if (sentinel.isOpen) sentinel.destroy()
  }
}

interface Client {
  readonly isOpen: boolean
  connect(): Promise<unknown>
  destroy(): void
}

/** A frozen server accepts connections, and never answers. */
async function connect(client: Client): Promise<void> {
  try {
    await withTimeout(client.connect())
  } catch (error) {
    if (client.isOpen) client.destroy()
    throw error
  }
}

function authOf(username: string | null, password: string | null) {
  return { ...(username !== null && { username }), ...(password !== null && { password }) }
}

function optionsOf({ isTls, ca }: RedisConfig, host?: RedisHost) {
  const socket = { ...host, connectTimeout: connectMs, reconnectStrategy: false as const }
  return {
    socket: isTls ? { ...socket, tls: true as const, ...(ca !== null && { ca }) } : socket,
    disableOfflineQueue: true,
    commandsQueueMaxLength: maxQueued,
    // The names of clients that some servers reject.
    disableClientInfo: true,
  }
}

/** The time limit of what is done for a connection that is not used yet. */
export async function withTimeout<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('the server did not answer in time')), connectMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
