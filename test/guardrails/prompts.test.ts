import { afterEach, describe, expect, test } from 'bun:test'
import { describeWithUpstreams, lastRequest, readJson, sendRequest } from '../inference/two-upstreams.ts'
import { setKeyGuardrail } from './support.ts'

const card = '4111 1111 1111 1111'

describeWithUpstreams('content filters', (bench) => {
  const use = (settings: object) => setKeyGuardrail(bench().server, settings)
  afterEach(() => use({ content_filter_builtins: null, content_filters: null }))
  const send = (text: string, more: object = {}) =>
    sendRequest(bench(), 'chat', { model: 'test/chat', messages: [{ role: 'user', content: text }], ...more })

  describe('R35 a prompt', () => {
    test('that a filter blocks is 403, names the filter, and reaches no provider', async () => {
      await use({ content_filter_builtins: [{ slug: 'credit-card', action: 'block' }] })
      const sent = bench().first.requests.length
      const response = await send(`My card is ${card}`)
      expect(response.status).toBe(403)
      const { error } = await readJson(response)
      expect(error.message).toBe('Request blocked by content filter: [CREDIT_CARD]')
      expect(error.metadata.filters).toEqual([
        { filter: 'credit-card', part: 'text', role: 'user', count: 1 },
      ])
      expect(JSON.stringify(error)).not.toContain('4111 1111')
      expect(bench().first.requests.length).toBe(sent)
    })

    test('that a filter redacts is sent with the label', async () => {
      await use({ content_filter_builtins: [{ slug: 'credit-card', action: 'redact' }] })
      expect((await send(`My card is ${card}, ${card}`)).status).toBe(200)
      const { json } = lastRequest(bench().first.requests)
      expect(json.messages).toEqual([{ role: 'user', content: 'My card is [CREDIT_CARD], [CREDIT_CARD]' }])
    })

    test('is a stage of the metadata, with the guardrail', async () => {
      await use({ content_filter_builtins: [{ slug: 'credit-card', action: 'redact' }] })
      const headers = { 'x-service-metadata': 'enabled' }
      const body = { model: 'test/chat', messages: [{ role: 'user', content: `My card is ${card}` }] }
      const reply = await readJson(sendRequest(bench(), 'chat', body, { headers }))
      const { data: guardrails } = (await bench().server.call('GET', '/guardrails')).body
      const id = guardrails.find(({ name }: { name: string }) => name === 'Filters').id
      expect(reply.service_metadata.pipeline).toMatchObject([
        { type: 'guardrail', name: 'content-filter', guardrail_id: id, guardrail_scope: 'api-key' },
      ])
    })

    test('without a match is not sent verbatim under a filter that redacts', async () => {
      await use({ content_filter_builtins: [{ slug: 'credit-card', action: 'redact' }] })
      const response = await send('Hi', { wibble: card })
      expect(response.headers.get('x-headgate-dropped')).toBe('wibble')
      expect(JSON.stringify(lastRequest(bench().first.requests).json)).not.toContain('4111 1111')
    })
  })
})
