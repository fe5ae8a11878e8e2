import { describe, expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { newGenerationEvent } from '../../../test/support/generation-event.ts'
import type { DestinationConfig } from './destination.ts'
import { webhook } from './webhook.ts'

const signingSecret = `whsec_${Buffer.from('a key of thirty-two bytes, or so').toString('base64')}`
const url = 'https://hooks.example.com/in'

async function encode(config: DestinationConfig, now = Date.now()) {
  const { headers, body } = await webhook.exporter!.encode(config, url, [newGenerationEvent()], now)
  return { headers, body: Buffer.from(body as Uint8Array).toString() }
}

describe('signatures', () => {
  test('a receiver verifies them with the library of Standard Webhooks', async () => {
    const { headers, body } = await encode({ url, signingSecret })
    expect(headers).toMatchObject({ 'webhook-id': newGenerationEvent().id })
    expect(new Webhook(signingSecret).verify(body, headers)).toEqual(JSON.parse(body))
    expect(() => new Webhook(signingSecret).verify(`${body} `, headers)).toThrow()
    expect(() => new Webhook(`whsec_${btoa('x'.repeat(32))}`).verify(body, headers)).toThrow()
  })

  test('I3 a repeated delivery has the same id and body, and a new time and signature', async () => {
    const first = await encode({ url, signingSecret }, 1_767_000_000_000)
    const second = await encode({ url, signingSecret }, 1_767_000_060_000)
    expect(second.body).toBe(first.body)
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id']!)
    expect(second.headers['webhook-timestamp']).toBe('1767000060')
    expect(second.headers['webhook-signature']).not.toBe(first.headers['webhook-signature']!)
    expect(webhook.exporter?.maxEvents).toBe(1)
  })

  test('without a secret there is none', async () => {
    const { headers } = await encode({ url })
    expect(Object.keys(headers).filter((name) => name.startsWith('webhook-'))).toEqual([])
  })

  test('custom headers do not replace them', async () => {
    const { headers, body } = await encode({
      url,
      signingSecret,
      headers: { 'Webhook-Signature': 'v1,AAAA' },
    })
    expect(new Webhook(signingSecret).verify(body, headers)).toBeDefined()
  })

  test('R40 the secret is not in the request', async () => {
    expect(JSON.stringify(await encode({ url, signingSecret }))).not.toContain(signingSecret.slice(6))
  })

  test('the test of the connection is signed too', async () => {
    const { request } = await webhook.probe({ url, signingSecret }, url)
    const body = Buffer.from(request.body as Uint8Array).toString()
    expect(new Webhook(signingSecret).verify(body, request.headers)).toEqual({ resourceSpans: [] })
  })

  test.each([
    ['no prefix', signingSecret.slice(6), false],
    ['no base64', 'whsec_not base64!', false],
    ['too short', `whsec_${btoa('x'.repeat(23))}`, false],
    ['too long', `whsec_${btoa('x'.repeat(65))}`, false],
    ['the shortest', `whsec_${btoa('x'.repeat(24))}`, true],
    ['the longest', `whsec_${btoa('x'.repeat(64))}`, true],
  ])('a secret with %s', (_, secret, isValid) => {
    expect(webhook.config.safeParse({ url, signingSecret: secret }).success).toBe(isValid)
  })
})
