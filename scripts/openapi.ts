// Writes openapi.json from the declared operations. A test fails when the committed file differs.
import { operations } from '../src/areas/all.ts'
import { buildOpenApiDocument } from '../src/http/openapi.ts'

await Bun.write('openapi.json', `${JSON.stringify(buildOpenApiDocument(operations), null, 2)}\n`)
