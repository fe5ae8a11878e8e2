import { expect, test } from 'bun:test'
import { exchangeSettings } from '../../../test/support/time-limits.ts'
import { CoarseTimer } from '../../platform/time/coarse-timer.ts'
import { UpstreamError } from '../failures/errors.ts'
import { UpstreamExchange } from './exchange.ts'
import { readBounded } from './read-body.ts'

const exchange = () =>
  new UpstreamExchange(new AbortController().signal, {
    upstreams: { exchanges: new Set() },
    timer: new CoarseTimer(),
    settings: exchangeSettings,
  })

test('S13 a body is cut off at the limit, whatever its headers say', async () => {
  const long = 'x'.repeat(5000)
  const bodies = [
    new Response(long, { headers: { 'content-length': '5000' } }),
    new Response(new Blob([long]).stream()),
    // The length before decompression.
    new Response(new Blob([long]).stream(), {
      headers: { 'content-length': '50', 'content-encoding': 'gzip' },
    }),
  ]
  for (const body of bodies) {
    await expect(readBounded(body, 1000, exchange())).rejects.toBeInstanceOf(UpstreamError)
  }
  expect(await readBounded(new Response('short'), 1000, exchange())).toBe('short')
})

test('other requests are served between reading a long body and parsing it', async () => {
  const long = 'x'.repeat(9_000_000)
  const known = new Response(long, { headers: { 'content-length': String(long.length) } })
  for (const body of [known, new Response(new Blob([long]).stream())]) {
    const served = { isServed: false }
    const reading = readBounded(body, long.length, exchange()).then((text) => {
      expect(text).toHaveLength(long.length)
      return served.isServed
    })
    setImmediate(() => {
      served.isServed = true
    })
    expect(await reading).toBe(true)
  }
})
