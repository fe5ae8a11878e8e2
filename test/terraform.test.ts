import { expect, test } from 'bun:test'
import { readCodeBlocks } from './support/deliver.ts'
import { describeOnSqlite, type TestResponse } from './support/harness.ts'

interface Resource {
  name: string
  path: string
  idAttribute: string
  /** JSON, in which `restapi_object.<name>.id` stands for the id of another resource. */
  data: string
  updateData: string
}

/** The objects of a page in HCL, which differs from JSON in `=` and in names without quotation marks. */
function parseResources(block: string): Resource[] {
  const resources = block.matchAll(/^resource "restapi_object" "(\w+)" \{\n(.*?)^\}/gms)
  return [...resources].map(([, name = '', body = '']) => {
    const data = parseData(body, 'data') ?? ''
    return {
      name,
      path: /^ *path += "([^"]+)"/m.exec(body)?.[1] ?? '',
      idAttribute: /^ *id_attribute += "([^"]+)"/m.exec(body)?.[1] ?? 'data/id',
      data,
      updateData: parseData(body, 'update_data') ?? data,
    }
  })
}

function parseData(body: string, attribute: string): string | undefined {
  const text = new RegExp(`^ *${attribute} += jsonencode\\((\\{.*?\\})\\)$`, 'ms').exec(body)?.[1]
  return text
    ?.replaceAll(/(\w+) += /g, '"$1": ')
    .replaceAll(/restapi_object\.\w+\.id/g, '"$&"')
    .replaceAll(/([^{,[])\n( *")/g, '$1,\n$2')
}

const valueAt = (reply: TestResponse, path: string) =>
  path.split('/').reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], reply.body)

describeOnSqlite('docs/terraform.md', (server) => {
  test('the requests that the provider sends for the examples are accepted', async () => {
    const resources = (await readCodeBlocks('docs/terraform.md', 'hcl')).flatMap(parseResources)
    expect(resources.map(({ name }) => name)).toEqual(['engineering', 'no_personal_data', 'requests', 'ci'])
    const ids = new Map<string, string>()
    const bodyOf = (data: string) =>
      JSON.parse(data.replaceAll(/restapi_object\.(\w+)\.id/g, (_, name) => ids.get(name) ?? 'unknown'))
    for (const { name, path, idAttribute, data, updateData } of resources) {
      const created = await server().call('POST', path, { body: bodyOf(data) })
      expect([name, created.status, created.body.error]).toEqual([name, 201, undefined])
      ids.set(name, String(valueAt(created, idAttribute)))
      const own = `${path}/${ids.get(name)}`
      expect((await server().call('GET', own)).status).toBe(200)
      const updated = await server().call('PATCH', own, { body: bodyOf(updateData) })
      expect([name, updated.status, updated.body.error]).toEqual([name, 200, undefined])
      expect(valueAt(updated, idAttribute)).toBe(ids.get(name) as string)
    }
    for (const { name, path } of resources.toReversed()) {
      const own = `${path}/${ids.get(name)}`
      expect((await server().call('DELETE', own)).status).toBe(200)
      expect((await server().call('GET', own)).status).toBe(404)
    }
  })
})
