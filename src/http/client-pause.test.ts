import { describe, expect, test } from 'bun:test'
import type { Gateway } from '../app/gateway.ts'
import { heartbeatResponses } from '../lib/response-traits.ts'
import { respond } from './client-pause.ts'
import type { Operation } from './operation.ts'
import type { Context } from './record-operations.ts'

/** The timeout of the connection, in seconds; null if it is not set. */
function findTimeout(response: Response, limits: { client_idle: number; heartbeat: number }): number | null {
  let timeout: number | null = null
  const gateway = { settings: { limits } } as Gateway
  const httpRequest = new Request('http://127.0.0.1/', { method: 'POST' })
  const connections = {
    timeout: (_: Request, seconds: number) => {
      timeout = seconds
    },
  }
  const operation = { method: 'POST', inference: {} } as Operation
  respond(operation, { gateway, httpRequest } as Context, connections, response)
  return timeout
}

function createStream(hasHeartbeats: boolean): Response {
  const response = new Response('', { headers: { 'x-accel-buffering': 'no' } })
  if (hasHeartbeats) heartbeatResponses.add(response)
  return response
}

describe('S13 the timeout of a client that reads nothing', () => {
  // The runtime ends a connection up to 4 seconds early.
  test('does not end a stream between two heartbeats, however short they are', () => {
    const stream = createStream(true)
    expect(findTimeout(stream, { client_idle: 1000, heartbeat: 1000 })).toBe(6)
    expect(findTimeout(stream, { client_idle: 1000, heartbeat: 10_000 })).toBe(24)
  })

  test('is at least what is configured, up to the longest of the runtime', () => {
    const limits = { client_idle: 120_000, heartbeat: 10_000 }
    expect(findTimeout(Response.json({}), limits)).toBe(124)
    expect(findTimeout(Response.json({}), { ...limits, client_idle: 255_000 })).toBe(255)
  })

  test('does not apply where the provider may be silent, or heartbeats are too rare', () => {
    expect(findTimeout(createStream(false), { client_idle: 1000, heartbeat: 1000 })).toBeNull()
    expect(findTimeout(createStream(true), { client_idle: 1000, heartbeat: 200_000 })).toBeNull()
  })
})
