import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { buildCatalog } from './catalog.ts'
import { declaredModel, type ModelDeclaration } from './declared-model.ts'
import { findModel } from './lookup.ts'

const declare = (id: string, rest: Partial<ModelDeclaration> = {}) =>
  declaredModel.parse({ id, name: id, endpoints: [{ provider: 'host', upstream_model: id }], ...rest })

/** A catalog without the built-in providers: it only has the models declared here. */
const catalog = buildCatalog({
  environment: {},
  providers: [],
  settings: {
    providers: [{ slug: 'host', name: 'Host', base_url: 'http://127.0.0.1:1', dialects: ['chat'] }],
    models: [
      declare('acme/fast-1', { aliases: ['quick', 'acme/quick', 'acme/fast-9'] }),
      declare('acme/fast-1:free'),
      declare('acme/fast-2', { canonical_slug: 'acme/fast-2-20260101' }),
      declare('acme/fast-2.5-preview'),
      declare('acme/fast-7-2026-01-01'),
      declare('acme/fast-9'),
      declare('acme/fast-mini-3'),
      declare('acme/only:free'),
      declare('acme/deep-1', { aliases: ['acme/deep'], reasoning: { mandatory: false } }),
      declare('acme/deep-1:free', { reasoning: { mandatory: false } }),
      declare('acme/deep-2', { reasoning: { mandatory: false } }),
      declare('acme/deep-2:thinking', { reasoning: { mandatory: true } }),
      declare('other/fast-30'),
    ],
  },
})

const find = (slug: string) => findModel(catalog, slug)?.model.id

describe('E16 resolving a slug', () => {
  test('E16 an id matches exactly, a static variant is a separate model', () => {
    expect(find('acme/fast-1')).toBe('acme/fast-1')
    expect(find('acme/fast-1:free')).toBe('acme/fast-1:free')
  })

  test('E16 aliases are resolved, also before a variant', () => {
    expect(find('quick')).toBe('acme/fast-1')
    expect(find('acme/quick')).toBe('acme/fast-1')
    expect(find('acme/quick:free')).toBe('acme/fast-1:free')
    expect(find('acme/quick:nitro')).toBe('acme/fast-1')
  })

  test('E16 an alias never hides the id of another model', () => {
    expect(find('acme/fast-9')).toBe('acme/fast-9')
  })

  test('E16 a canonical slug is resolved', () => {
    expect(find('acme/fast-2-20260101')).toBe('acme/fast-2')
  })

  test.each(['nitro', 'floor', 'exacto', 'online'])('E16 :%s resolves to the base model', (suffix) => {
    expect(findModel(catalog, `acme/fast-1:${suffix}`)).toMatchObject({
      model: { id: 'acme/fast-1' },
      variants: [suffix],
    })
  })

  test('E16 suffixes combine in any order', () => {
    expect(find('acme/fast-1:free:online')).toBe('acme/fast-1:free')
    expect(find('acme/fast-1:online:free')).toBe('acme/fast-1:free')
    expect(findModel(catalog, 'acme/fast-1:free:online:nitro')?.variants).toEqual(['online', 'nitro'])
  })

  test.each(['free', 'thinking', 'extended', 'batch', 'unheard-of', ''])(
    'E16 :%s is unknown where there is no such model',
    (suffix) => expect(find(`acme/fast-2:${suffix}`)).toBeUndefined(),
  )

  test('E16 :thinking enables reasoning of a model that supports it, or is a separate model', () => {
    const resolve = (slug: string) => {
      const match = findModel(catalog, slug)
      return match && [match.model.id, match.model.reasons_by_default, match.latest, match.variants]
    }
    expect(resolve('acme/deep-1:thinking')).toEqual(['acme/deep-1', true, null, ['thinking']])
    expect(resolve('acme/deep:thinking')).toEqual(['acme/deep-1', true, null, ['thinking']])
    expect(resolve('acme/deep-1:free:thinking')).toEqual(['acme/deep-1:free', true, null, ['thinking']])
    expect(resolve('acme/deep-1:thinking:nitro:online')).toEqual([
      'acme/deep-1',
      true,
      null,
      ['nitro', 'online', 'thinking'],
    ])
    expect(resolve('acme/deep-2:thinking')).toEqual(['acme/deep-2:thinking', undefined, null, []])
    expect(resolve('~acme/deep-latest:thinking')).toEqual([
      'acme/deep-2',
      true,
      '~acme/deep-latest',
      ['thinking'],
    ])
    expect(resolve('acme/deep-1')).toEqual(['acme/deep-1', undefined, null, []])
    expect(resolve('acme/fast-1:thinking')).toBeUndefined()
    expect(resolve('acme/deep-1:thinking:extended')).toBeUndefined()
  })

  test('E16 a base model that exists only as a variant is unknown without it', () => {
    expect(find('acme/only:free')).toBe('acme/only:free')
    expect(find('acme/only')).toBeUndefined()
  })

  test('E16 ~author/family-latest is the newest of the family, including previews, without dated builds', () => {
    expect(findModel(catalog, '~acme/fast-latest')).toMatchObject({
      model: { id: 'acme/fast-9' },
      latest: '~acme/fast-latest',
    })
    expect(find('~acme/fast-mini-latest')).toBe('acme/fast-mini-3')
    expect(find('~acme/fast-latest:nitro')).toBe('acme/fast-9')
    expect(find('~acme/fast-latest:free')).toBeUndefined()
    expect(find('~acme/slow-latest')).toBeUndefined()
  })

  test('E16 similar names do not match', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...catalog.bySlug.keys()),
        fc.string({ minLength: 1, maxLength: 3 }),
        (name, noise) => {
          const slug = name + noise
          fc.pre(!catalog.bySlug.has(slug) && !noise.startsWith(':'))
          expect(find(slug)).toBeUndefined()
        },
      ),
    )
    for (const slug of ['', ':', '/', 'acme', 'Acme/fast-1', 'acme/fast-1 ', '__proto__', 'constructor']) {
      expect(find(slug)).toBeUndefined()
    }
  })
})
