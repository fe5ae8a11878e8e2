import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { clearGenerations, lastRequest, waitForGenerations } from '../inference/two-upstreams.ts'
import { describeMedia, type MediaCall, post } from '../media/support.ts'
import { setKeyGuardrail } from './support.ts'

const pricing = { pricing: { prompt: '0.000001', completion: '0' } }
const models = [
  {
    name: 'embeddings',
    wireFormat: 'embeddings',
    fields: { output_modalities: ['embeddings'] },
    endpoint: pricing,
    other: {},
  },
  {
    name: 'rerank',
    wireFormat: 'rerank',
    fields: { output_modalities: ['rerank'] },
    endpoint: pricing,
    other: {},
  },
]

const reply = {
  json: {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
    usage: { prompt_tokens: 3, total_tokens: 3 },
  },
}

describeMedia('content filters of tasks other than text', models, (bench) => {
  const server = () => bench().server
  beforeAll(() =>
    setKeyGuardrail(server(), { content_filter_builtins: [{ slug: 'email', action: 'redact' }] }),
  )
  beforeEach(() => clearGenerations(bench()))

  const embed = (input: string, options: MediaCall = {}, more: object = {}) => {
    bench().first.enqueueFor('/embeddings', reply)
    return post(bench(), '/embeddings', { model: 'test/embeddings', input, ...more }, options)
  }

  describe('R35 a redacted prompt', () => {
    test('is the same prompt for the response cache, whatever was redacted', async () => {
      const headers = { 'x-service-cache': 'true' }
      const first = await embed('Mail anna@example.com', { headers })
      const second = await embed('Mail bert@example.com', { headers })
      expect([first, second].map(({ headers: sent }) => sent.get('x-service-cache-status'))).toEqual([
        'MISS',
        'HIT',
      ])
      expect(lastRequest(bench().first.requests).json.input).toBe('Mail [EMAIL]')
    })

    test('is logged and recorded as it was sent, with the label for the end user', async () => {
      const body = { is_observability_io_logging_enabled: true, io_logging_sampling_rate: 1 }
      await server().call('PATCH', `/workspaces/${server().own.workspace.id}`, { body })
      await embed('To anna@example.com', {}, { user: 'bert@example.com' })
      const [row] = await waitForGenerations(bench(), 1)
      expect(row?.external_user).toBe('[EMAIL]')
      const content = await server().call('GET', `/generation/content?id=${row?.id}`)
      expect(JSON.stringify(content.body.data)).toContain('To [EMAIL]')
      expect(JSON.stringify(content.body.data)).not.toContain('example.com')
    })

    test('is what the reply repeats', async () => {
      bench().first.enqueueFor('/rerank', { json: { results: [{ index: 0, relevance_score: 0.5 }] } })
      const { status, body } = await post(bench(), '/rerank', {
        model: 'test/rerank',
        query: 'anna',
        documents: ['anna@example.com', 'b'],
        top_n: 1,
      })
      expect(status).toBe(200)
      expect(body.results[0].document).toEqual({ text: '[EMAIL]' })
    })

    test('is what a quote would send, and a blocked one would be refused', async () => {
      const quote = () =>
        post(bench(), '/quote?format=embeddings', { model: 'test/embeddings', input: 'anna@example.com' })
      expect((await quote()).body.data.would).toBe('be_sent')
      await setKeyGuardrail(server(), { content_filter_builtins: [{ slug: 'email', action: 'block' }] })
      const { would, refusal } = (await quote()).body.data
      expect([would, refusal.error.message]).toEqual([
        'be_refused',
        'Request blocked by content filter: [EMAIL]',
      ])
    })
  })
})
