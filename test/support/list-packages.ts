// Preloaded into a server under test: prints the packages and areas that it has loaded when it gets SIGUSR2.
process.on('SIGUSR2', () => {
  const paths = Object.keys(require.cache).join('\n')
  const packages = listNames(paths, /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//g)
  const areas = listNames(paths, /\/src\/areas\/([^/]+)\/operations\.ts/g)
  process.stdout.write(`packages: ${packages}; areas: ${areas};\n`)
})

function listNames(paths: string, pattern: RegExp): string {
  return [...new Set([...paths.matchAll(pattern)].map((match) => match[1]))].sort().join(' ')
}
