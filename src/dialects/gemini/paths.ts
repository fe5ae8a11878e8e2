/** Versions of the vendor's API that its clients ask for; the first is the documented address. */
const apiVersions = ['v1beta', 'v1', 'v1alpha']
const cloudVersions = ['v1beta1', 'v1']

interface RoutePaths {
  path: string
  aliases: string[]
}

/** `/v1beta/models`, in every version. With `except` those that another format answers. */
export function buildApiPaths(rest: string, { prefix = '', except = '' } = {}): RoutePaths {
  return toRoutePaths(
    apiVersions.filter((version) => version !== except).map((version) => `${prefix}/${version}${rest}`),
  )
}

/** The same of the vendor's cloud, with a project or with a key alone. The author is the publisher. */
export function buildCloudPaths(rest: string): RoutePaths {
  const prefixes = ['', '/projects/{project}/locations/{location}']
  return toRoutePaths(
    prefixes.flatMap((prefix) =>
      cloudVersions.map((version) => `/${version}${prefix}/publishers/{publisher}/models${rest}`),
    ),
  )
}

function toRoutePaths([path = '', ...aliases]: string[]): RoutePaths {
  return { path, aliases }
}

/** Other formats have addresses under `/v1` too; there the vendor's clients are known by where they put the key. */
export function isGeminiClient({ headers }: Request): boolean {
  return headers.has('x-goog-api-key') && !headers.has('authorization')
}
