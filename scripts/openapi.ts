// Writes openapi.json and the addresses of each area from the declared operations. A test fails when a committed file
// differs.
import { loadOperations, operationGroups, pageGroups } from '../src/api/all.ts'
import { buildOpenApiDocument } from '../src/http/openapi.ts'
import { listAddresses, listPaths } from '../src/http/routes.ts'

const write = (path: string, value: object) => Bun.write(path, `${JSON.stringify(value, null, 2)}\n`)

await write('openapi.json', buildOpenApiDocument(await loadOperations()))
await write('src/api/addresses.json', {
  operations: await listAddresses(operationGroups),
  pages: await listPaths(pageGroups),
})
