/** API versions that the vendor's clients use; the documented one comes first. */
const apiVersions = ['v1beta', 'v1', 'v1alpha']
const cloudVersions = ['v1beta1', 'v1']

interface RoutePaths {
  path: string
  aliases: string[]
}

/** Paths such as `/v1beta/models` for every version but `except`, which another format serves. */
export function buildApiPaths(rest: string, { prefix = '', except = '' } = {}): RoutePaths {
  return toRoutePaths(
    apiVersions.filter((version) => version !== except).map((version) => `${prefix}/${version}${rest}`),
  )
}

/** Paths of the vendor's cloud API, with and without a project. The publisher is the model's author. */
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

/** Other formats have paths under `/v1` too; clients of this one send their key in another header. */
export function isGeminiClient({ headers }: Request): boolean {
  return headers.has('x-goog-api-key') && !headers.has('authorization')
}
