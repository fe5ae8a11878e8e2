// Which modules a file imports: what a change reaches, and what a test needs.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix, relative, sep } from 'node:path'

const folders = ['src', 'test', 'scripts', 'bench', 'console/src']
const sourceFile = /\.(ts|tsx|mjs)$/
const harness = 'test/support/harness.ts'
const testFile = /\.test\.tsx?$/
/** Forms of imports, without types, which the compiler checks. Files next to a module are named by `new URL`. */
const importForms = [
  /^\s*(?:import|export)\s+(?!type\b)(?:[^'"`;]*?\sfrom\s+)?['"](\.[^'"]+)['"]/gm,
  /\bimport\(\s*['"](\.[^'"]+)['"]/g,
  /\bnew URL\(\s*['"](\.[^'"]+)['"],\s*import\.meta\.url/g,
]
/** A line of `src/api/all.ts`. */
const areaModule = /^ {2}'?([\w-]+)'?: async \(\) =>\s*\(await import\('\.\/([^']+)'\)/gm
/** An address of the API has several. */
const basePath = /^(\/api|\/openai|\/anthropic)?(\/v1)*(?=\/)/

export class ImportGraph {
  #root
  #imports = new Map()
  #byFolder = new Map()
  #areas

  constructor(root) {
    this.#root = root
    for (const file of folders.flatMap((folder) => listSources(root, folder))) {
      const folder = posix.dirname(file)
      this.#imports.set(file, readImports(root, file))
      this.#byFolder.set(folder, [...(this.#byFolder.get(folder) ?? []), file])
    }
    this.#areas = readAreas(root)
  }

  get testFiles() {
    return [...this.#imports.keys()].filter((file) => testFile.test(file))
  }

  /** Whether a test imports a module, directly or through others. */
  needs(test, module) {
    return this.#follow([test]).has(module)
  }

  /**
   * The tests that changed files reach: by imports, and, unless the change is in an area of the API itself, through the
   * addresses that a test calls.
   */
  findAffected(changed) {
    const shared = changed.filter((file) => !file.startsWith('src/api/'))
    const areas = this.#areas.filter(({ file }) => intersects(this.#follow([file]), shared))
    return this.testFiles.filter(
      (test) =>
        intersects(this.#follow([test, ...this.#listTested(test)]), changed) ||
        changed.some((file) => isShownBy(test, file) || this.#reads(test, file)) ||
        this.#calls(test, areas),
    )
  }

  /** Documents and settings are named by the tests that read them. */
  #reads(test, file) {
    if (folders.some((folder) => file.startsWith(`${folder}/`))) return false
    const text = readFileSync(join(this.#root, test), 'utf8')
    const [top] = file.split('/')
    return [`'${top}'`, `'${top}/`, `'${posix.basename(file)}'`].some((name) => text.includes(name))
  }

  #calls(test, areas) {
    if (areas.length === 0 || !this.needs(test, harness)) return false
    const files = [...this.#follow([test])].filter((file) => file === test || isHelper(file))
    const text = files.map((file) => readFileSync(join(this.#root, file), 'utf8')).join('\n')
    return areas.some(({ addresses }) => addresses.some((address) => text.includes(address)))
  }

  /** A test of `src` is of its folder, also where it calls the server only. */
  #listTested(test) {
    const siblings = test.startsWith('src/') ? this.#byFolder.get(posix.dirname(test)) : []
    return siblings.filter((file) => !testFile.test(file))
  }

  /**
   * Files and all that they import. A list of all features (`all.ts`) is followed only if one of the files imports it:
   * otherwise every test that starts a server would depend on every feature.
   */
  #follow(files) {
    const direct = new Set(files.flatMap((file) => [file, ...(this.#imports.get(file) ?? [])]))
    const reached = new Set(files)
    for (const file of reached) {
      if (posix.basename(file) === 'all.ts' && !direct.has(file)) continue
      for (const imported of this.#imports.get(file) ?? []) reached.add(imported)
    }
    return reached
  }
}

/** Whether tests send requests with the file; the server that they start is no helper. */
function isHelper(file) {
  return file.startsWith('test/') && file.endsWith('.ts') && file !== harness
}

/** The operations of each area, and the addresses that lead to it, without the base path. */
function readAreas(root) {
  const { operations } = JSON.parse(readFileSync(join(root, 'src/api/addresses.json'), 'utf8'))
  const modules = [...readFileSync(join(root, 'src/api/all.ts'), 'utf8').matchAll(areaModule)]
  const files = Object.fromEntries(modules.map(([, name, file]) => [name, `src/api/${file}`]))
  return Object.entries(operations).map(([name, addresses]) => ({
    file: files[name],
    addresses: [
      ...new Set(addresses.map((address) => address.replace(basePath, '').split(/[:{]/)[0])),
    ].filter((address) => address.length > 1),
  }))
}

function intersects(set, list) {
  return list.some((item) => set.has(item))
}

/** The console is built, not imported. */
function isShownBy(test, file) {
  return test.startsWith('test/browser/') && file.startsWith('console/')
}

function readImports(root, file) {
  const text = readFileSync(join(root, file), 'utf8')
  const specifiers = importForms.flatMap((form) => [...text.matchAll(form)].map(([, path]) => path))
  const paths = specifiers.map((path) => posix.join(posix.dirname(file), path))
  return paths.filter((path) => existsSync(join(root, path)))
}

function listSources(root, folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && sourceFile.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .filter((file) => !file.includes('node_modules/'))
}
