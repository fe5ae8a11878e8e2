import { expect, test } from 'bun:test'
import type { Schemas } from '../../api/client.ts'
import { endpointWithoutEdit, tagOf } from './endpoint-tag.ts'

type Model = Schemas['CatalogueModel']
type Endpoint = Schemas['DeclaredEndpoint']

const endpoint = (upstream_model: string): Endpoint => ({
  provider: 'acme',
  upstream_model,
  prompt_unit: 'token',
})
const declared = (upstream_model: string) => ({ endpoints: [endpoint(upstream_model)] }) as Model['in_force']
const edit = (fields: object | null) => ({ fields, problem: null, updated_at: '' })
const make = (more: object) =>
  ({ edit: null, endpoint_edits: [], base: null, in_force: declared('now'), ...more }) as unknown as Model

test('the tag has the variant, or the service tier', () => {
  expect(tagOf(endpoint('a'))).toBe('acme')
  expect(tagOf({ ...endpoint('a'), variant: 'turbo', service_tier: 'flex' })).toBe('acme/turbo')
  expect(tagOf({ ...endpoint('a'), service_tier: 'flex' })).toBe('acme/flex')
})

test('without an edit it is what it is now', () => {
  expect(endpointWithoutEdit(make({}), 'acme')).toMatchObject({ upstream_model: 'now' })
  expect(endpointWithoutEdit(make({}), 'other')).toBeNull()
})

test('beneath an edit is the edit of the model, then the built-in value', () => {
  const endpoint_edits = [{ tag: 'acme', ...edit({}) }]
  const base = declared('built in')
  expect(endpointWithoutEdit(make({ endpoint_edits, base }), 'acme')).toMatchObject({
    upstream_model: 'built in',
  })
  const ofModel = edit({ endpoints: [endpoint('of the model')] })
  expect(endpointWithoutEdit(make({ endpoint_edits, base, edit: ofModel }), 'acme')).toMatchObject({
    upstream_model: 'of the model',
  })
  expect(endpointWithoutEdit(make({ endpoint_edits }), 'acme')).toBeNull()
})
