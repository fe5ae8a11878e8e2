import { describe, expect, test } from 'bun:test'
import type { Gateway } from '../gateway/gateway.ts'
import { ClientWait, clientWaits, sourceSilences } from '../platform/http/response-traits.ts'
import { respond, respondWithRecord } from './client-pause.ts'
import type { Operation } from './operation.ts'
import type { Context } from './record-operations.ts'

interface Limits {
  client_idle: number
  heartbeat?: number
}

/** The timeouts of the connection, in seconds, as they are set. */
async function listTimeouts(method: 'GET' | 'POST', response: Response, limits: Limits): Promise<number[]> {
  const timeouts: number[] = []
  const gateway = { settings: { limits } } as Gateway
  const httpRequest = new Request('http://127.0.0.1/', { method })
  const connections = { timeout: (_: Request, seconds: number) => void timeouts.push(seconds) }
  const context = { gateway, httpRequest } as Context
  const operation = { method, handle: async () => response } as unknown as Operation
  if (method === 'GET') await respondWithRecord(operation, context, connections)
  else respond(operation, context, connections, response)
  return timeouts
}

/** A stream whose source is silent for at most this long. */
function createStream(silenceMs: number): Response {
  const response = new Response('', { headers: { 'x-accel-buffering': 'no' } })
  sourceSilences.set(response, silenceMs)
  return response
}

describe('S13 the timeout of a client that reads nothing', () => {
  // The runtime ends a connection up to 4 seconds early.
  test('does not end a stream while its source is silent', async () => {
    expect(await listTimeouts('POST', createStream(2000), { client_idle: 1000 })).toEqual([6])
    expect(await listTimeouts('POST', createStream(20_000), { client_idle: 1000 })).toEqual([24])
    expect(await listTimeouts('GET', createStream(20_000), { client_idle: 1000 })).toEqual([24])
  })

  test.each(['GET', 'POST'] as const)(
    'is at least what is configured, up to the longest of the runtime (%s)',
    async (method) => {
      expect(await listTimeouts(method, Response.json({}), { client_idle: 120_000 })).toEqual([124])
      expect(await listTimeouts(method, Response.json({}), { client_idle: 255_000 })).toEqual([255])
    },
  )

  test('does not apply where heartbeats are too rare', async () => {
    expect(await listTimeouts('POST', createStream(400_000), { client_idle: 1000 })).toEqual([0])
  })

  test('applies only while the client is waited for, where the source may be silent for any time', async () => {
    const wait = new ClientWait()
    const response = new Response('')
    clientWaits.set(response, wait)
    const timeouts = await listTimeouts('GET', response, { client_idle: 10_000 })
    wait.begin()
    wait.end()
    expect(timeouts).toEqual([0, 14, 0])
  })
})
