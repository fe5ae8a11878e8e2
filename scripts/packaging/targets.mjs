// The platforms that `npm run package` makes executables for. The Bun binary of each is an npm package.

export const targets = {
  'linux-x64': { runtime: '@oven/bun-linux-x64', bunTarget: 'bun-linux-x64' },
  'linux-arm64': { runtime: '@oven/bun-linux-aarch64', bunTarget: 'bun-linux-arm64' },
  'linux-x64-musl': { runtime: '@oven/bun-linux-x64-musl', bunTarget: 'bun-linux-x64-musl' },
  'linux-arm64-musl': { runtime: '@oven/bun-linux-aarch64-musl', bunTarget: 'bun-linux-arm64-musl' },
  'macos-x64': { runtime: '@oven/bun-darwin-x64', bunTarget: 'bun-darwin-x64' },
  'macos-arm64': { runtime: '@oven/bun-darwin-aarch64', bunTarget: 'bun-darwin-arm64' },
  'windows-x64': { runtime: '@oven/bun-windows-x64', bunTarget: 'bun-windows-x64', isWindows: true },
}

export function executableName(target) {
  return `headgate-${target}${targets[target].isWindows ? '.exe' : ''}`
}

/** The target that the Bun binary of this machine is for. */
export function findOwnTarget(runtimePath) {
  const isOwn = ([, { runtime }]) => runtimePath.replaceAll('\\', '/').includes(`/${runtime}/`)
  return Object.entries(targets).find(isOwn)?.[0]
}
