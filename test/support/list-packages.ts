// Preloaded into a server under test: prints the packages that it has loaded when it gets SIGUSR2.
process.on('SIGUSR2', () => {
  const paths = Object.keys(require.cache).join('\n')
  const names = [...paths.matchAll(/\/node_modules\/((?:@[^/]+\/)?[^/]+)\//g)].map((match) => match[1])
  process.stdout.write(`packages: ${[...new Set(names)].sort().join(' ')};\n`)
})
