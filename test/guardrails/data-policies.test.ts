import { expect, test } from 'bun:test'
import { describeOnSqlite } from '../support/harness.ts'
import { setKeyGuardrail } from './support.ts'

const free = '{ prompt: "0", completion: "0" }'
const paid = '{ prompt: "0.000001", completion: "0.000001" }'

/** A model of each task at a provider, free and paid. */
const declareModels = (provider: string) =>
  [
    ['text', 'chat'],
    ['embeddings', 'embeddings'],
    ['rerank', 'rerank'],
    ['image', 'images'],
    ['speech', 'speech'],
    ['transcription', 'transcriptions'],
  ]
    .flatMap(([modality, wireFormat]) =>
      [
        ['free', free],
        ['paid', paid],
      ].map(
        ([price, pricing]) => `
  - { id: ${provider}/${modality}-${price}, name: M, output_modalities: [${modality}],
      endpoints: [{ provider: ${provider}, upstream_model: m, dialects: [${wireFormat}], pricing: ${pricing} }] }`,
      ),
    )
    .join('')

const wireFormats = '[chat, embeddings, rerank, images, speech, transcriptions]'
const settings = `
providers:
  - { slug: trains, name: Trains, base_url: "http://127.0.0.1:9/v1", dialects: ${wireFormats},
      data_policy: { training: true, retains: true } }
  - { slug: publishes, name: Publishes, base_url: "http://127.0.0.1:9/v1", dialects: ${wireFormats},
      data_policy: { training: false, retains: true, publishes: true } }
models:${declareModels('trains')}${declareModels('publishes')}
`

const tasks = [
  ['text', 'chat', { messages: [{ role: 'user', content: 'Hi' }] }],
  ['embeddings', 'embeddings', { input: 'Hi' }],
  ['rerank', 'rerank', { query: 'Hi', documents: ['Hello'] }],
  ['image', 'images', { prompt: 'A fox' }],
  ['speech', 'speech', { input: 'Hi', voice: 'v' }],
] as const

describeOnSqlite(
  'Data policies of a guardrail',
  (server) => {
    const reasonOf = async (model: string, format: string, body: object) => {
      const { own } = server()
      const quoted = await server().call('POST', `/quote?format=${format}`, {
        key: own.inferenceKey,
        body: { model, ...body },
      })
      return quoted.body.data.endpoints.excluded.map(({ reason }: { reason: string }) => reason)
    }

    test.each(tasks)('exclude endpoints of %s, each only what it names', async (modality, format, body) => {
      const cases = [
        ['enable_free_model_training', `trains/${modality}-free`, `trains/${modality}-paid`],
        ['enable_paid_model_training', `trains/${modality}-paid`, `trains/${modality}-free`],
        ['enable_free_model_publication', `publishes/${modality}-free`, `publishes/${modality}-paid`],
      ] as const
      for (const [field, excluded, allowed] of cases) {
        await setKeyGuardrail(server(), { [field]: false })
        expect(await reasonOf(excluded, format, body)).toEqual([`guardrail:${field}`])
        expect(await reasonOf(allowed, format, body)).toEqual([])
        await setKeyGuardrail(server(), { [field]: null })
        expect(await reasonOf(excluded, format, body)).toEqual([])
      }
    })
  },
  { settings },
)
