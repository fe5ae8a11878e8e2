import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type ConfigField, type DestinationType, docsOf, kinds } from './kinds.ts'

const root = join(import.meta.dir, '../../../..')

interface FieldSchema {
  description?: string
  default?: string
  enum?: string[]
}

interface ConfigSchema {
  properties: Record<string, FieldSchema>
  required?: string[]
}

const { paths } = await Bun.file(join(root, 'openapi.json')).json()
const { schema } = paths['/observability/destinations'].post.requestBody.content['application/json']
const schemas: { properties: { type: { const: DestinationType }; config: ConfigSchema } }[] = schema.oneOf

test('the form has every type of destination', () => {
  expect(Object.keys(kinds).sort()).toEqual(schemas.map(({ properties }) => properties.type.const).sort())
})

test.each(schemas.map(({ properties }) => [properties.type.const, properties.config] as const))(
  'the form of %s has the fields of the API',
  (type, config) => {
    const fields: Record<string, ConfigField> = kinds[type].fields
    const shown = Object.entries(fields).map(([name, { isRequired, isSecret, options, fallback }]) => [
      name,
      { isRequired: isRequired === true, isSecret: isSecret === true, options, fallback },
    ])
    const declared = Object.entries(config.properties)
      .filter(([name]) => name !== 'headers')
      .map(([name, field]) => [
        name,
        {
          isRequired: config.required?.includes(name) ?? false,
          isSecret: field.description?.startsWith('Secret') ?? false,
          options: field.enum,
          fallback: field.default,
        },
      ])
    expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(declared))
    expect(existsSync(join(root, docsOf(type)))).toBe(true)
  },
)
