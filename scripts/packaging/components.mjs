// The packages that are in an executable: the dependencies of the server, of the console, and the runtime.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../install.mjs'

/** Every installed package without those for development, from the lockfile of a folder. */
export function readComponents(folder = '') {
  const { packages } = JSON.parse(readFileSync(join(root, folder, 'package-lock.json'), 'utf8'))
  const used = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev)
  const byPath = Object.fromEntries(used.map(([path, entry]) => [path, toComponent(folder, path, entry)]))
  const resolveAll = (from, names) =>
    Object.keys(names)
      .map((name) => byPath[resolvePath(byPath, from, name)])
      .filter(Boolean)
  for (const [path, { dependencies = {}, optionalDependencies = {}, peerDependencies = {} }] of used)
    byPath[path].dependencies = resolveAll(path, {
      ...peerDependencies,
      ...dependencies,
      ...optionalDependencies,
    })
  const { dependencies = {}, optionalDependencies = {} } = packages['']
  return {
    components: Object.values(byPath),
    direct: resolveAll('', { ...dependencies, ...optionalDependencies }),
  }
}

function toComponent(folder, path, { version, license, integrity }) {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  return { name, version, license, integrity, folder: join(root, folder, path), dependencies: [] }
}

/** Where Node looks for a package: beside the one that imports it, then further up. */
function resolvePath(byPath, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (byPath[path] || folder === '') return path
  }
}
