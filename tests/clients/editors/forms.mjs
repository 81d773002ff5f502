// A text in every form in which a program may send it on.

/** The characters of base64 that a text fills wholly, behind so many bytes of another one. */
function base64(text, before, form) {
  const whole = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
  const first = Math.ceil((before * 8) / 6);
  return whole.toString(form).slice(first, Math.floor((whole.length * 8) / 6));
}

const FORMS = [
  (text) => text,
  (text) => text.toLowerCase(),
  (text) => [...text].reverse().join(""),
  (text) => Buffer.from(text).toString("hex"),
  (text) => encodeURIComponent(text),
  (text) => [...text].map((one) => `%${one.charCodeAt(0).toString(16)}`).join(""),
  (text) => [...text].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  (text) => [...text].map((one) => `&#${one.charCodeAt(0)};`).join(""),
  ...[0, 1, 2].flatMap((before) => ["base64", "base64url"].map((form) => (text) => base64(text, before, form))),
];

/** Whether one of some places holds a text, in whatever form. */
export const inAnyForm = (text, ...places) => FORMS.some((form) => places.some((place) => place.includes(form(text))));
