import { apiUrl } from '../../api/base-url.ts'
import { sessionHeaders } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'

interface Upload {
  file: File
  purpose: string
  signal: AbortSignal
  /** Receives the share that was sent, from 0 to 1. */
  onProgress: (share: number) => void
}

/** Sends a file. `fetch` does not report how much of a body has been sent, so this uses the older interface. */
export function uploadFile({ file, purpose, signal, onProgress }: Upload): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', `${apiUrl()}/files`)
    for (const [name, value] of Object.entries(sessionHeaders())) request.setRequestHeader(name, value)
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0)
    request.onload = () => (request.status < 400 ? resolve() : void readError(request).then(reject))
    request.onerror = () => reject(new TypeError('The upload was interrupted. Try again.'))
    request.onabort = () => reject(new Error('The upload was canceled.'))
    signal.addEventListener('abort', () => request.abort())
    const form = new FormData()
    form.set('purpose', purpose)
    form.set('file', file)
    request.send(form)
  })
}

function readError(request: XMLHttpRequest): Promise<ApiError> {
  const requestId = request.getResponseHeader('x-request-id')
  const headers = requestId === null ? {} : { 'x-request-id': requestId }
  return ApiError.from(new Response(request.responseText, { status: request.status, headers }))
}
