import { readFile } from 'node:fs/promises'
import { Glob } from 'bun'
import { type Document, parseDocument } from './document.ts'

export interface MenuGroup {
  title: string
  pages: Document[]
}

/** The documentation that comes with the server. */
export interface Library {
  pages: ReadonlyMap<string, Document>
  /** The areas of the first page, with the pages that it lists. */
  menu: MenuGroup[]
  /** The pictures, by their path below `/docs`. */
  images: ReadonlyMap<string, string>
}

/** Reads and renders every page, one after another: other requests are answered meanwhile. */
export async function loadLibrary(folder: string): Promise<Library> {
  const pages = new Map<string, Document>()
  for (const path of listFiles(folder, '**/*.md')) {
    const document = parseDocument(path, await readFile(`${folder}/${path}`, 'utf8'))
    pages.set(document.slug, document)
  }
  const images = listFiles(folder, 'images/*.png').map((path) => [path, `${folder}/${path}`] as const)
  return { pages, menu: buildMenu(pages), images: new Map(images) }
}

function listFiles(folder: string, pattern: string): string[] {
  return [...new Glob(pattern).scanSync(folder)].map((path) => path.replaceAll('\\', '/')).sort()
}

function buildMenu(pages: ReadonlyMap<string, Document>): MenuGroup[] {
  const menu: MenuGroup[] = []
  for (const { group, slug } of pages.get('')?.pageLinks ?? []) {
    const page = pages.get(slug)
    if (group === '' || !page) continue
    if (menu.at(-1)?.title !== group) menu.push({ title: group, pages: [] })
    menu.at(-1)?.pages.push(page)
  }
  return menu
}
