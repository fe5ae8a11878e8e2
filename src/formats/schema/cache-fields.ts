/** `semantic`: a reply to a request whose last text is similar may be returned too. */
export const cacheModes = ['exact', 'semantic'] as const
export type CacheMode = (typeof cacheModes)[number]

/** Whose replies the semantic cache may return: those of the same key, or of any key of the workspace. */
export const cacheScopes = ['key', 'workspace'] as const
export type CacheScope = (typeof cacheScopes)[number]

/** The lowest cosine similarity that can be required. Below, texts need not be about the same thing. */
export const minCacheThreshold = 0.5
