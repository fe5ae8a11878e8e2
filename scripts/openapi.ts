// Writes openapi.json from the declared operations. A test fails when the committed file differs.
import { operations } from '../src/areas/all.ts'
import { openApiDocument } from '../src/openapi.ts'

await Bun.write('openapi.json', `${JSON.stringify(openApiDocument(operations), null, 2)}\n`)
