import { afterEach, expect, test } from 'bun:test'
import { describeWithUpstreams, lastRequest, readJson, sendRequest } from '../inference/two-upstreams.ts'
import { setKeyGuardrail } from './support.ts'

const card = '4111 1111 1111 1111'

describeWithUpstreams('a guardrail in dry run', (bench) => {
  const use = (settings: object) => setKeyGuardrail(bench().server, settings)
  afterEach(() =>
    use({
      dry_run: false,
      content_filter_builtins: null,
      ignored_models: null,
      enforce_zdr: null,
      unscannable_content: null,
    }),
  )

  test('changes nothing, and records what it would have done', async () => {
    await use({
      dry_run: true,
      content_filter_builtins: [
        { slug: 'credit-card', action: 'block' },
        { slug: 'email', action: 'redact', scope: 'both' },
      ],
      ignored_models: ['test/chat'],
      enforce_zdr: true,
      unscannable_content: 'block',
    })
    const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
    const text = { type: 'text', text: `${card}, jane@example.org` }
    const response = await sendRequest(bench(), 'chat', {
      model: 'test/chat',
      messages: [{ role: 'user', content: [text, picture] }],
    })
    expect(response.status).toBe(200)
    expect(lastRequest(bench().first.requests).json.messages[0].content[0].text).toBe(text.text)
    const { id } = await readJson(response)
    const { server } = bench()
    const { body } = await server.call('GET', `/guardrails/hits?generation_id=${id}`)
    const found = body.data.map((hit: { rule: string; action: string; enforced: boolean }) => [
      hit.rule,
      hit.action,
      hit.enforced,
    ])
    expect(found.sort()).toEqual([
      ['credit-card', 'block', false],
      ['email', 'redact', false],
      ['enforce_zdr', 'block', false],
      ['ignored_models', 'block', false],
      ['unscannable_content', 'block', false],
    ])
    // Four digits alone could be part of an id.
    expect(JSON.stringify(body)).not.toContain('4111 1111')
  })
})
