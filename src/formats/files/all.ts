import type { FileFormatName } from '../vocabulary.ts'
import type { FileFormat } from './file-format.ts'
import { vendorAFiles } from './vendor-a.ts'
import { vendorBFiles } from './vendor-b.ts'

/** The formats of file storage at vendors. */
export const fileFormats: Readonly<Record<FileFormatName, FileFormat>> = {
  vendor_a: vendorAFiles,
  vendor_b: vendorBFiles,
}
