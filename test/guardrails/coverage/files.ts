import { buildPdf } from '../../support/pdf.ts'
import { type CoverageCase, toForm, type WayIn } from './way-in.ts'

const upload = (
  content: string | Uint8Array<ArrayBuffer>,
  name: string,
  fields: Record<string, string> = {},
) => toForm({ ...fields, file: new File([content], name) })

function fileCase(
  place: string,
  part: string,
  build: (canary: string) => FormData,
  more: Pick<CoverageCase, 'isRefused'> = {},
): CoverageCase {
  return { place, part, plant: (canary) => ({ body: build(canary) }), ...more }
}

export const fileWays: WayIn[] = [
  {
    name: 'files for the storage of a vendor',
    operation: 'uploadFile',
    path: '/v1/files?provider=openai',
    cases: [
      fileCase('text of a file', 'file', (canary) => upload(`Note: ${canary}`, 'a.txt')),
      fileCase('line of a batch', 'file', (canary) =>
        upload(`{"a":1}\n{"b":"\\u0063${canary.slice(1)}"}\n`, 'a.jsonl', { purpose: 'batch' }),
      ),
      fileCase('name of a file', 'name', (canary) => upload('Note', `${canary}.txt`)),
      fileCase('field of the form', 'parameter', (canary) =>
        upload('Note', 'a.txt', { 'expires_after[anchor]': canary }),
      ),
      fileCase('text of a PDF', 'file', (canary) => upload(new Uint8Array(buildPdf([canary])), 'a.pdf'), {
        isRefused: true,
      }),
    ],
  },
]
