import { z } from 'zod'
import { printableMessage, printablePattern } from '../catalog/provider-auth/credential-field.ts'
import { usdAmount } from '../platform/money/money-schema.ts'
import { secondsField, secretField } from '../platform/validation/setting-fields.ts'

/** An API for OCR in the wire format of Mistral. */
const ocrApi = z.strictObject({
  api_key: secretField(z.string().min(1).regex(printablePattern, printableMessage)).nullable().default(null),
  /** Address in place of the vendor's. It may be private. */
  base_url: z
    .url({ protocol: /^https?$/ })
    .regex(/^[^?#]*$/, 'must have neither a query nor a fragment')
    .nullable()
    .default(null),
  model: z.string().min(1).default('mistral-ocr-latest'),
  /** USD of a page. */
  page_price: usdAmount.prefault(0.002),
  /** Seconds for one document. */
  timeout: secondsField(120, 600),
})

export type OcrApiSettings = z.output<typeof ocrApi>

/** The plugin `file-parser`. OCR is for documents without text. */
export const fileParserSettings = z
  .strictObject({
    ocr: ocrApi.prefault({}),
    /** Model in place of the API: it reads PDFs and writes down what is in them. */
    ocr_model: z.string().min(1).nullable().default(null),
  })
  .refine(({ ocr, ocr_model }) => ocr.api_key === null || ocr_model === null, {
    path: ['ocr_model'],
    error: 'must be null if file_parser.ocr.api_key is set: documents are read by the API or by the model',
  })
