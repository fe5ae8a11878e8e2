import { asBoolean, asCount, asString } from '../../platform/json/json-values.ts'
import { messages } from '../messages/messages.ts'
import type { FileFormat } from './file-format.ts'

/** The storage of the vendor of the Messages format, which is in beta: every request names the beta. */
export const vendorAFiles: FileFormat = {
  name: 'vendor_a',
  defaults: {
    ...messages.upstream.defaults,
    headers: { ...messages.upstream.defaults.headers, 'anthropic-beta': 'files-api-2025-04-14' },
  },
  decodeError: messages.upstream.decodeError,
  listParameters: { limit: 'limit', after: 'after_id', before: 'before_id' },
  uploadFields: [],
  uploadDefaults: {},
  decodeFile: (body) => {
    const [id, filename] = [asString(body.id), asString(body.filename)]
    const createdAt = Date.parse(asString(body.created_at) ?? '')
    if (id === undefined || filename === undefined || Number.isNaN(createdAt)) return null
    return {
      id,
      filename,
      mimeType: asString(body.mime_type) ?? null,
      size: asCount(body.size_bytes),
      createdAt,
      purpose: null,
      isDownloadable: asBoolean(body.downloadable) ?? false,
    }
  },
}
