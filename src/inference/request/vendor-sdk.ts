/** Whether the client validates every delta of a tool call as a whole call, as the SDKs of Mistral do. */
export function needsWholeToolCalls({ headers }: Request): boolean {
  return headers.get('user-agent')?.includes('mistral-client') ?? false
}

/** Whether the client is an SDK of the vendor of its format. These name their language; other clients do not. */
export function isVendorSdk({ headers }: Request): boolean {
  return headers.has('x-stainless-lang')
}

/** `OpenAI/Python`, `AsyncAzureOpenAI/Python`, `OpenAI/JS` and so on. */
const openAiAgent = /^(?:Async)?(?:Azure)?OpenAI\//

/** Whether the client is an SDK of OpenAI; some of them do not name their language. */
export function isOpenAiSdk(request: Request): boolean {
  return isVendorSdk(request) || openAiAgent.test(request.headers.get('user-agent') ?? '')
}
