import { afterAll, expect, test } from 'bun:test'
import { TestTimer } from '../../../test/support/clocks.ts'
import { exchangeSettings } from '../../../test/support/time-limits.ts'
import { UpstreamExchange } from './exchange.ts'

const timer = new TestTimer()
afterAll(() => timer.stop())

function open() {
  const client = new AbortController()
  const exchanges = new Set<UpstreamExchange>()
  const exchange = new UpstreamExchange(client.signal, {
    upstreams: { exchanges },
    timer,
    settings: exchangeSettings,
  })
  return { client, exchanges, exchange }
}

test('a timeout ends an exchange after the time that was set last', () => {
  const { exchange, client } = open()
  exchange.setTimeout(10_000)
  timer.advance(9000)
  exchange.setTimeout(10_000)
  timer.advance(9000)
  expect(exchange.signal.aborted).toBe(false)
  timer.advance(1001)
  expect(exchange.signal.aborted).toBe(true)
  client.abort()
  expect(exchange.toError(new Error('aborted'))).toMatchObject({ failure: { kind: 'timeout' } })
})

test('a released exchange has no timeout, and does not end with its client', () => {
  const { exchange, client, exchanges } = open()
  exchange.setTimeout(10_000)
  exchange.release()
  timer.advance(60_000)
  client.abort()
  expect(exchange.signal.aborted).toBe(false)
  expect(exchanges.size).toBe(0)
})

test('an exchange ends with its client, or with the request that it is a part of', () => {
  const ofClient = open()
  ofClient.client.abort()
  expect(ofClient.exchange.signal.aborted).toBe(true)
  expect(ofClient.exchanges.size).toBe(1)
  ofClient.exchange.release()

  const ofRequest = open()
  const request = new AbortController()
  ofRequest.exchange.outliveClient()
  ofRequest.exchange.abortWith(request.signal)
  ofRequest.client.abort()
  expect(ofRequest.exchange.signal.aborted).toBe(false)
  request.abort()
  expect(ofRequest.exchange.signal.aborted).toBe(true)
  expect(ofRequest.exchanges.size).toBe(0)
})
