import { expect, test } from 'bun:test'
import { measureCpuTime } from '../../../test/support/cpu-time.ts'
import { detectLanguage } from './language.ts'

test.each([
  ['en', 'All human beings are born free and equal in dignity and rights.'],
  ['de', 'Alle Menschen sind frei und gleich an Würde und Rechten geboren.'],
  ['fr', 'Tous les êtres humains naissent libres et égaux en dignité et en droits.'],
  [
    'es',
    'Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.',
  ],
  [
    'it',
    'Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e di coscienza e devono agire gli uni verso gli altri in spirito di fratellanza.',
  ],
  [
    'pt',
    'Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de consciência, devem agir uns para com os outros em espírito de fraternidade.',
  ],
  [
    'nl',
    'Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand en geweten, en behoren zich jegens elkander in een geest van broederschap te gedragen.',
  ],
  [
    'pl',
    'Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.',
  ],
  [
    'sv',
    'Alla människor är födda fria och lika i värde och rättigheter. De har utrustats med förnuft och samvete och bör handla gentemot varandra i en anda av gemenskap.',
  ],
  [
    'tr',
    'Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler.',
  ],
  [
    'cs',
    'Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím a mají spolu jednat v duchu bratrství.',
  ],
  [
    'id',
    'Semua orang dilahirkan merdeka dan mempunyai martabat dan hak-hak yang sama. Mereka dikaruniai akal dan hati nurani dan hendaknya bergaul satu sama lain dalam semangat persaudaraan.',
  ],
  [
    'vi',
    'Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi. Mọi con người đều được tạo hóa ban cho lý trí và lương tâm và cần phải đối xử với nhau trong tình bằng hữu.',
  ],
  ['ru', 'Все люди рождаются свободными и равными в своем достоинстве и правах.'],
  ['uk', 'Всі люди народжуються вільними і рівними у своїй гідності та правах.'],
  ['zh', '人人生而自由，在尊严和权利上一律平等。'],
  ['ja', 'すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。'],
  ['ko', '모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.'],
  ['ar', 'يولد جميع الناس أحراراً متساوين في الكرامة والحقوق.'],
  [
    'fa',
    'تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند. همه دارای عقل و وجدان هستند و باید نسبت به یکدیگر با روح برادری رفتار کنند.',
  ],
  ['he', 'כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.'],
  ['el', 'Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.'],
  ['hi', 'सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।'],
  ['th', 'มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ'],
])('the first article of the Universal Declaration of Human Rights in %s', (language, text) => {
  expect(detectLanguage(text)).toBe(language)
})

test.each(['', 'Hello', '42', '{"a": [1, 2]}', 'SELECT x FROM y', '😀😀', '\ud800'])(
  'the language of %p is not detected',
  (text) => expect(detectLanguage(text)).toBe(''),
)

test('a Japanese word in an English question', () => {
  expect(detectLanguage('What is the meaning of 猫 in this sentence, and how do you write it?')).toBe('en')
})

test('a long text is judged by its beginning', () => {
  const beginning = 'Was ist das, und wie kann ich es mit dem Gateway machen? '.repeat(40)
  const text = beginning + 'the '.repeat(1_000_000)
  const texts = [text, 'a'.repeat(4_000_000), '\u0301'.repeat(4_000_000)]
  const detectAll = () => texts.map(detectLanguage)
  expect(detectAll()[0]).toBe('de')
  expect(Math.min(...Array.from({ length: 5 }, () => measureCpuTime(detectAll)))).toBeLessThan(50)
})
