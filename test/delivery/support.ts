import { afterAll } from 'bun:test'
import { getDestination } from '../../src/delivery/destinations/all.ts'
import { buildJsonPost, type Exporter } from '../../src/delivery/destinations/destination.ts'
import type { GenerationEvent } from '../../src/delivery/destinations/event.ts'
import { runDeliveries } from '../../src/delivery/worker.ts'
import type { TestServer } from '../support/harness.ts'

/** Events as a JSON list, with the custom headers. */
const listExporter: Exporter = {
  maxEvents: 100,
  maxBytes: 4 * 1024 * 1024,
  encode: ({ headers = {} }, target, events) => buildJsonPost(target, headers, { events }),
  findRejection: async (bytes) => {
    const body = new TextDecoder().decode(bytes)
    return body.includes('"rejected"') ? body : undefined
  },
}

/** Makes webhooks receive plain events, whatever their own format is. Returns what undoes it. */
export function useListExporter(changes: Partial<Exporter> = {}): () => void {
  const webhook = getDestination('webhook')
  const { exporter } = webhook
  webhook.exporter = { ...listExporter, ...changes }
  return () => {
    webhook.exporter = exporter
  }
}

export interface ReceivedBatch {
  path: string
  headers: Headers
  events: GenerationEvent[]
}

type Responder = (batch: ReceivedBatch) => Response | Promise<Response>

/** A destination on loopback that logs what it receives, by path. */
export class Receiver {
  readonly batches: ReceivedBatch[] = []
  respond: Responder = () => new Response(null, { status: 204 })
  readonly #server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const { events } = (await request.json()) as { events: GenerationEvent[] }
      const batch = { path: new URL(request.url).pathname, headers: request.headers, events }
      this.batches.push(batch)
      return this.respond(batch)
    },
  })

  get address(): string {
    return `127.0.0.1:${this.#server.port}`
  }

  url(path = '/in'): string {
    return `http://${this.address}${path}`
  }

  /** Ids of events in the order they arrived. */
  ids(path = '/in'): string[] {
    return this.events(path).map(({ id }) => id)
  }

  events(path = '/in'): GenerationEvent[] {
    return this.batches.filter((batch) => batch.path === path).flatMap(({ events }) => events)
  }

  reset(): void {
    this.batches.length = 0
    this.respond = () => new Response(null, { status: 204 })
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }
}

export function buildEgressSettings(...receivers: Receiver[]): string {
  return `egress: { allow_private: [${receivers.map(({ address }) => `"${address}"`).join(', ')}] }\n`
}

/** The id of a new webhook of the workspace, which broadcasts from now on. */
export async function createWebhook(
  server: TestServer,
  url: string,
  fields: Record<string, unknown> = {},
  tenant = server.own,
): Promise<string> {
  const key = tenant.managementKey
  const { config = {}, ...settings } = fields as { config?: object }
  await server.call('PATCH', `/workspaces/${tenant.workspace.id}`, {
    key,
    body: { is_observability_broadcast_enabled: true },
  })
  const created = await server.call('POST', '/observability/destinations', {
    key,
    body: { type: 'webhook', name: 'Events', config: { url, ...config }, ...settings },
  })
  if (created.status !== 201) throw new Error(JSON.stringify(created.body))
  return created.body.data.id
}

/** Delivers what is due now. */
export async function deliver({ gateway }: TestServer): Promise<void> {
  await gateway.ledger.flush()
  await runDeliveries(gateway)
  await gateway.delivery.tasks.idle()
}

/** Removes everything that a test has left. */
export async function clearOutbox({ gateway: { db, ledger } }: TestServer): Promise<void> {
  await ledger.flush()
  for (const table of ['outbox_deliveries', 'outbox_events', 'destination_states', 'destinations'] as const)
    await db.deleteFrom(table).execute()
}

/** Sends a chat request to the sandbox; returns the id of its generation. */
export async function chat(
  server: TestServer,
  content: string,
  { key = server.own.inferenceKey, ...body }: Record<string, unknown> & { key?: string } = {},
): Promise<string> {
  const response = await fetch(`${server.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content }], ...body }),
  })
  await response.text()
  const id = response.headers.get('x-generation-id')
  if (!response.ok || id === null) throw new Error(`status ${response.status}`)
  return id
}

/** A receiver for the tests of a file; webhooks send it plain events. */
export function receivePlainEvents(): Receiver {
  const receiver = new Receiver()
  const restoreExporter = useListExporter()
  afterAll(async () => {
    restoreExporter()
    await receiver.stop()
  })
  return receiver
}
