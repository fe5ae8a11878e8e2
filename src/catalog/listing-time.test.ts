import { describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../test/support/harness.ts'

const settings = `
providers:
  - { slug: local, name: Local, base_url: "http://127.0.0.1:9001/v1", dialects: [chat] }
models:
  - { id: acme/dated-1, name: Dated, created: 2026-01-01, endpoints: [{ provider: local, upstream_model: a }] }
  - { id: acme/undated-1, name: Undated, endpoints: [{ provider: local, upstream_model: b }] }
`

describeOnEachDatabase(
  'the creation time of models',
  (server) => {
    const created = async (id: string): Promise<number> =>
      (await server().call('GET', `/model/${id}`)).body.data.created

    test('is never 0', async () => {
      const { body } = await server().call('GET', '/models?include_unavailable=true&output_modalities=all')
      const undated = body.data.filter((model: { created: number }) => model.created <= 0)
      expect(undated).toEqual([])
    })

    test('is the release date if it is known', async () => {
      expect(await created('acme/dated-1')).toBe(Date.parse('2026-01-01') / 1000)
    })

    test('is the time of the file for models of headgate.yaml without a date', async () => {
      const written = await Bun.file(server().gateway.config.environment.HEADGATE_CONFIG ?? '').stat()
      expect(await created('acme/undated-1')).toBe(Math.floor(written.mtimeMs / 1000))
    })

    describe('for models declared at run time', () => {
      test('is the time of the declaration', async () => {
        const path = '/catalogue/models/acme/added-1'
        const endpoints = [{ provider: 'local', upstream_model: 'c' }]
        server().clock.freeze('2031-05-06T07:08:09Z')
        expect((await server().call('PUT', path, { body: { name: 'Added', endpoints } })).status).toBe(200)
        server().clock.release()
        expect(await created('acme/added-1')).toBe(Date.parse('2031-05-06T07:08:09Z') / 1000)
      })
    })

    test('an unknown date does not count as new', async () => {
      const { body } = await server().call('GET', '/models?max_age_days=3650&q=acme')
      expect(body.data.map(({ id }: { id: string }) => id)).toEqual(['acme/dated-1'])
    })
  },
  { settings },
)
