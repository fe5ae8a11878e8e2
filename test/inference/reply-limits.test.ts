import { afterEach, describe, expect, test } from 'bun:test'
import type { UpstreamResponse } from '../support/upstream.ts'
import {
  type Bench,
  clearGenerations,
  describeWithUpstreams,
  readJson,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

const settings = `limits: { reply_bytes: 100000, reply_values: 1000, reply_events: 50, reply_parts: 20 }
responses: { background: 3 }
datasets: { classify_one_in: 1 }
egress: { allow_private: ["127.0.0.1:9"] }`

const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
const fillers = Array.from({ length: 1200 }, () => 1)
const toolCall = { id: 'same', type: 'function', function: { name: 'f', arguments: '{}' } }

function chunk(delta: object, fields: object = {}): string {
  return `data: ${JSON.stringify({ ...head, ...fields, choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`
}

function whole(message: object, fields: object = {}): UpstreamResponse {
  const choice = {
    index: 0,
    finish_reason: 'stop',
    message: { role: 'assistant', content: 'Hi', ...message },
  }
  return { json: { id: 'c', model: 'm', ...fields, choices: [choice] } }
}

function streamed(count: number, frame: (at: number) => string): UpstreamResponse {
  return {
    sse: [chunk({ content: 'Hi' }), ...Array.from({ length: count }, (_, at) => frame(at))],
    delayMs: 0,
  }
}

/** A reply beyond each limit, whole and streamed. */
const excesses: { limit: string; message: RegExp; replies: UpstreamResponse[] }[] = [
  {
    limit: 'reply_bytes',
    message: /too large/,
    replies: [
      whole({ content: 'x'.repeat(120_000) }),
      streamed(12, () => chunk({ content: 'x'.repeat(10_000) })),
    ],
  },
  {
    limit: 'reply_values',
    message: /more than 1000 JSON values/,
    replies: [whole({}, { fillers }), streamed(1, () => chunk({ content: 'x' }, { fillers }))],
  },
  {
    limit: 'reply_events',
    message: /more than 50 events/,
    replies: [streamed(60, () => chunk({ content: 'x' }))],
  },
  {
    limit: 'reply_parts',
    message: /more than 20 parts/,
    replies: [
      whole({ tool_calls: Array.from({ length: 30 }, () => toolCall) }),
      streamed(30, (index) => chunk({ tool_calls: [{ ...toolCall, id: `t${index}`, index }] })),
    ],
  },
]

interface Observer {
  /** Changes the settings for all requests of the workspace. */
  set?(bench: Bench): Promise<unknown>
  headers?: Record<string, string>
  fields?: object
}

function setWorkspace({ server }: Bench, body: object): Promise<unknown> {
  return server.call('PATCH', `/workspaces/${server.own.workspace.id}`, { body })
}

function addDestination(type: string, config: object): NonNullable<Observer['set']> {
  return async (bench) => {
    await setWorkspace(bench, { is_observability_broadcast_enabled: true })
    const { status } = await bench.server.call('POST', '/observability/destinations', {
      body: { type, name: 'Events', config },
    })
    expect(status).toBe(201)
  }
}

/** Every request is classified as well. */
const observers: Record<string, Observer> = {
  nothing: {},
  'the content log': {
    set: (bench) =>
      setWorkspace(bench, { is_observability_io_logging_enabled: true, io_logging_sampling_rate: 1 }),
  },
  'a destination': { set: addDestination('webhook', { url: 'http://127.0.0.1:9/' }) },
  'a destination of traces': { set: addDestination('otel-collector', { endpoint: 'http://127.0.0.1:9/' }) },
  'the response cache': { headers: { 'x-service-cache': 'true' } },
  'the store of responses': { fields: { store: true } },
}

describeWithUpstreams(
  'S13 a limit of replies',
  (bench) => {
    afterEach(async () => {
      const { db } = bench().server.gateway
      await db.deleteFrom('destinations').execute()
      await setWorkspace(bench(), {
        is_observability_io_logging_enabled: false,
        is_observability_broadcast_enabled: false,
      })
      await bench().server.gateway.backgroundRuns.drain(5000)
      await clearGenerations(bench())
    })

    for (const [name, { set, headers, fields }] of Object.entries(observers)) {
      describe(`with ${name}`, () => {
        for (const { limit, message, replies } of excesses) {
          test(`S13 ${limit} is enforced`, async () => {
            await set?.(bench())
            for (const format of ['chat', 'responses'] as const) {
              for (const reply of replies) {
                bench().first.enqueue(reply)
                const body = { model: 'test/chat', stream: 'sse' in reply, ...fields }
                const response = await sendRequest(bench(), format, body, headers ? { headers } : {})
                expect(await response.text()).toMatch(message)
                if (!('sse' in reply)) expect(response.status).toBe(502)
              }
            }
            const rows = await waitForGenerations(bench(), 2 * replies.length)
            expect(rows.map(({ status, error_code }) => [status, error_code])).toEqual(
              rows.map(() => ['failed', 'upstream_failed']),
            )
          })
        }
      })
    }

    for (const { limit, message, replies } of excesses) {
      test(`S13 ${limit} is enforced in the background`, async () => {
        for (const reply of replies.filter((one) => 'sse' in one)) {
          bench().first.enqueue(reply)
          const queued = await readJson(
            sendRequest(bench(), 'responses', { model: 'test/chat', background: true }),
          )
          await bench().server.gateway.backgroundRuns.drain(5000)
          const path = `/responses/${queued.id}`
          const { body } = await bench().server.call('GET', path, { key: bench().server.own.inferenceKey })
          expect([body.status, body.error?.message]).toEqual(['failed', expect.stringMatching(message)])
        }
      })
    }
  },
  settings,
  ['sqlite'],
)
