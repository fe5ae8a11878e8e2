import { handleRequests } from '../../platform/concurrency/worker-thread.ts'
import type { HtmlRequest } from './html-reader.ts'
import { readHtml } from './html-text.ts'

// The first message only starts the thread.
handleRequests((request, [data = '']) =>
  request === null ? null : readHtml(Buffer.from(data, 'latin1'), request as HtmlRequest),
)
