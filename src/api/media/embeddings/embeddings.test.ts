import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'

describeOnEachDatabase('Embedding models', (server) => {
  test('GET /embeddings/models lists exactly the models that make embeddings', async () => {
    const { body } = await server().call('GET', '/embeddings/models?include_unavailable=true')
    const ids = body.data.map((model: { id: string }) => model.id)
    expect(ids).toEqual(expect.arrayContaining(['sandbox/embedder', 'openai/text-embedding-3-small']))
    expect(body.total_count).toBe(ids.length)
    for (const model of body.data) expect(model.architecture.output_modalities).toEqual(['embeddings'])
  })

  test('GET /embeddings/models comes in pages', async () => {
    const { body } = await server().call(
      'GET',
      '/embeddings/models?limit=2&offset=1&include_unavailable=true',
    )
    expect(body.data).toHaveLength(2)
    expect(body.links.next).toBe('/api/v1/embeddings/models?limit=2&offset=3&include_unavailable=true')
    expect((await server().call('GET', '/embeddings/models?limit=none')).status).toBe(400)
    expect((await server().call('GET', '/embeddings/models', { key: null })).status).toBe(401)
  })
})
