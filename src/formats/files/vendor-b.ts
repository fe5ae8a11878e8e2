import { asCount, asNumber, asString } from '../../platform/json/json-values.ts'
import { responses } from '../responses/responses.ts'
import type { FileFormat } from './file-format.ts'

/** Files for these purposes can be uploaded and used, but not downloaded again. */
const uploadOnlyPurposes = new Set(['assistants', 'vision', 'user_data', 'evals'])

/** The storage of the vendor of the Responses format. It does not send the types of files. */
export const vendorBFiles: FileFormat = {
  name: 'vendor_b',
  defaults: responses.upstream.defaults,
  decodeError: responses.upstream.decodeError,
  listParameters: { limit: 'limit', after: 'after', order: 'order', purpose: 'purpose' },
  uploadFields: ['purpose', 'expires_after[anchor]', 'expires_after[seconds]'],
  uploadDefaults: { purpose: 'user_data' },
  decodeFile: (body) => {
    const [id, filename] = [asString(body.id), asString(body.filename)]
    const createdAt = new Date((asNumber(body.created_at) ?? Number.NaN) * 1000).getTime()
    if (id === undefined || filename === undefined || Number.isNaN(createdAt)) return null
    const purpose = asString(body.purpose) ?? null
    return {
      id,
      filename,
      mimeType: null,
      size: asCount(body.bytes),
      createdAt,
      purpose,
      isDownloadable: purpose !== null && !uploadOnlyPurposes.has(purpose),
    }
  },
}
